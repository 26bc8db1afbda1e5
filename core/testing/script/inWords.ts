import type { Command, Presented, Published, Step } from "./Command.ts"

const presented = (token: Presented | null): string =>
  token === null ? "nothing" : token.kind === "garbage" ? "garbage" : `${token.kind} token of #${token.ref}`

/** ` with a: b`, for what is not as usual. */
const unusual = (
  fields: { readonly [name: string]: string | number | boolean | null | undefined },
  usual: ReadonlyArray<unknown>
): string => {
  const named = Object.entries(fields).filter(([, value]) => !usual.includes(value))
  return named.length === 0 ? "" : `, ${named.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")}`
}

const published: Readonly<Record<Published, string>> = {
  all: "a document of all its redirect URIs",
  "the first": "a document of its first redirect URI",
  "the last": "a document of its last redirect URI",
  "no client": "a text of which no client comes",
  nothing: "nothing"
}

const stepInWords = (step: Step): string => {
  switch (step._tag) {
    case "Register":
      return step.odd !== null
        ? `register a client with ${step.odd}`
        : `register a ${step.kind} client in workspace ${step.workspace} for ${step.redirects.join(" ") || "no redirects"}${step.isTold === true ? ", told of sign-outs" : ""}`
    case "Publish":
      return `at the address of client #${step.client} is ${published[step.says]}`
    case "BlockHost":
      return `an owner ${step.blocks ? "blocks" : "blocks no more"} the host of client #${step.client}`
    case "Authorize": {
      const { claims, fresh, hint, jkt, maxAge, nonce, prompt } = step
      const { redirect, twist, scope, challenge, resource, responseType, state, twice } = step
      const more =
        unusual({ challenge, responseType }, ["S256", "code"]) +
        unusual({ redirect, twist, scope, resource, state, twice, jkt, nonce, maxAge, fresh, prompt, hint, claims }, [
          null,
          undefined,
          0,
          "as registered",
          "none"
        ])
      return `client #${step.client} sends ${step.user} to authorize${more}`
    }
    case "Push": {
      const { challenge, jkt, key, proof, redirect, resource, responseType, scope, state, twist } = step
      const more =
        unusual({ challenge, responseType }, ["S256", "code"]) +
        unusual({ redirect, twist, scope, resource, state, jkt, key }, [null, undefined, 0, "as registered", "none"]) +
        unusual({ proof }, ["post", "basic"])
      return `client #${step.client} pushes a request for ${step.user}${more}`
    }
    case "Visit":
      return `a browser comes with the request of #${step.request}, for client #${step.client}`
    case "AskDevice": {
      const { proof, resource, scope } = step
      return `client #${step.client} asks by a device${unusual({ proof, scope, resource }, ["post", "basic", null, "none"])}`
    }
    case "Enter":
      return `${step.by === "viewer" ? step.user : step.by} enters the code of the device of #${step.device} in workspace ${step.workspace}`
    case "Poll": {
      const { proof, resource, shows } = step
      const more = unusual({ proof, resource, shows }, ["post", "basic", "none", "the device code"])
      return `client #${step.by} polls with the codes of #${step.device}${more}`
    }
    case "AllowExchange":
      return `an owner says that client #${step.client} is the API ${step.serves}`
    case "AnswerClient": {
      const does = { approved: "approves", refused: "refuses", nothing: "looks at" }[step.says]
      return `an owner of workspace ${step.workspace} ${does} client #${step.client}`
    }
    case "Exchange": {
      const { proof, resource, scope } = step
      const more = unusual({ proof, resource, scope }, ["post", "basic", "none", null])
      return `client #${step.by} exchanges the ${presented(step.token)}${more}`
    }
    case "TrustIssuer":
      return step.terms === null
        ? `${step.issuer} is trusted no more in workspace ${step.workspace}`
        : `an owner of workspace ${step.workspace} trusts ${step.issuer} ${JSON.stringify(step.terms)}`
    case "Attest": {
      const { audience, kind, lives, names, resource, scope, subject } = step
      const of = `${step.issuer} says by its ${step.key} key to workspace ${step.workspace} that it knows ${subject}`
      const more = unusual({ kind, audience, scope, resource }, ["id-jag", "here", null, "none"])
      return `${of}, for ${names === null ? "any client" : `client #${names}`} and ${lives} s${more}`
    }
    case "Bring": {
      const { assertion, proof, resource, scope } = step
      const more = unusual({ proof, scope, resource }, ["post", "basic", null, "none"])
      return `client #${step.by} brings the assertion of #${assertion}${more}`
    }
    case "EndSession":
      return `the session of ${step.user} ends in workspace ${step.workspace}`
    case "SignOut": {
      const { by, client, hint, state, target } = step
      const more = unusual({ client, hint, target, state, by }, [null, "none", "viewer"])
      return `the browser of ${step.who ?? "nobody"} is sent to be signed out of workspace ${step.workspace}${more}`
    }
    case "Decide":
      return `${step.by === "viewer" ? "the viewer" : step.by} posts ${step.decision} on the page of #${step.page}${unusual({ place: step.place }, [undefined])}`
    case "Belong":
      return `${step.user} has ${step.places.join(", ") || "no places"} in workspace ${step.workspace}`
    case "EndAll":
      return `all ends that ${step.user} let ${step.client === undefined ? "clients" : `client #${step.client}`} have${step.place === undefined ? "" : ` at the ${step.place}`} in workspace ${step.workspace}`
    case "Redeem": {
      const { key, proof, verifier, redirect, resource } = step
      const usual = ["post", "basic", "right", "same", "none", undefined]
      const more = unusual({ proof, verifier, redirect, resource, key }, usual)
      return `client #${step.by} redeems the code of #${step.code}${more}`
    }
    case "Refresh": {
      const { key, proof, resource, scope } = step
      const more = unusual({ proof, scope, resource, key }, ["post", "basic", null, undefined, "none"])
      return `client #${step.by} refreshes with the ${presented(step.token)}${more}`
    }
    case "ClientCredentials": {
      const { key, proof, resource, scope } = step
      const more = unusual({ proof, scope, resource, key }, ["post", "basic", null, undefined, "none"])
      return `client #${step.by} asks for a token of its own${more}`
    }
    case "OwnGrant":
      return `client #${step.by} asks by ${step.grantType}${unusual({ proof: step.proof, ...step.fields }, ["post", "basic"])}`
    case "Revoke":
      return `client #${step.by} revokes the ${presented(step.token)}${unusual({ proof: step.proof, hint: step.hint }, ["post", "basic", null])}`
    case "Introspect":
      return `client #${step.by} introspects the ${presented(step.token)}${unusual({ proof: step.proof }, ["post", "basic"])}`
    case "Check":
      return `${presented(step.token)} is shown at ${step.at} of workspace ${step.workspace}${unusual({ key: step.key }, [undefined])}`
    case "DeleteClient":
      return `client #${step.client} is deleted with ${step.with === null ? "a made-up token" : `the registration token of #${step.with}`}`
    case "Rekey":
      return `client #${step.client} has the key ${step.key} from now on, with ${step.with === null ? "a made-up token" : `the registration token of #${step.with}`}`
    case "Wait":
      return `${step.millis} ms pass (${step.until})`
    case "Housekeeping":
      return step.what
  }
}

/** What is odd about what a client signed for its request. */
const signedInWords = (step: Step): string =>
  "signed" in step && step.signed !== undefined
    ? unusual(
        { signedBy: step.signed.key, lives: step.signed.lives, for: step.signed.audience, idOf: step.signed.idOf },
        ["first", 60, "issuer", undefined]
      )
    : ""

/** A command as a line that a person can follow. */
export const inWords = (command: Command): string => {
  switch (command._tag) {
    case "Troubled":
      return `${inWords(command.during)}; ${typeof command.fault.write === "number" ? `write ${command.fault.write}` : `that of the ${command.fault.write}`} is ${command.fault.what}`
    case "Together":
      return `at once: ${command.steps.map((step) => `#${step.id} ${stepInWords(step)}${signedInWords(step)}`).join(" | ")}`
    default:
      return `#${command.id} ${stepInWords(command)}${signedInWords(command)}`
  }
}
