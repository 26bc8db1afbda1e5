/** The host's own consent page: any page of yours, drawn in any way that you like. */
export const allowPage = `<main hidden>
<h1></h1>
<p>You are <b id="account"></b>. <a id="switch">Somebody else?</a></p>
<p>You go back to <b id="returns-to"></b>.</p>
<ul></ul>
<p hidden><label><input type="checkbox" name="acknowledged"> I started this myself, and I know where I go back to.</label></p>
<button value="deny">No</button> <button value="approve">Yes, allow it</button>
</main>
<p role="alert"></p>
<script type="module" src="/allow.js"></script>`

/** What it does, as the browser has it. Whatever an application calls itself is put in as text, never as HTML. */
export const allowScript = `
const find = (what) => document.querySelector(what)
const ask = (path, init) => fetch("/auth/consent/" + path, init).then((answer) => answer.json())

const told = await ask("model" + location.search)
if (told.continueTo) location.replace(told.continueTo)
else if (told.state === "consent") {
  const { host, opens } = told.client.returnsTo
  find("h1").textContent = "Allow " + told.client.name + "?"
  find("#account").textContent = told.account
  find("#switch").href = told.switchAccount
  find("#returns-to").textContent = host ?? opens ?? "the application"
  find("ul").append(...told.scopes.map(({ words }) => Object.assign(document.createElement("li"), { textContent: words })))
  find("p:has([name=acknowledged])").hidden = !told.acknowledge
  for (const button of document.querySelectorAll("button")) button.onclick = () => decide(button.value)
  find("main").hidden = false
} else say(told.error_description)

async function decide(decision) {
  const done = await ask("answer", { method: "POST", body: new URLSearchParams({ ...told.form, ...ticked(), decision }) })
  if (done.continueTo) location.assign(done.continueTo)
  else if (done.state === "unacknowledged") say("Tick the box first, if what it says is true.")
  else say(done.error_description ?? "This was answered before, or took too long. Start again in the application.")
}

function ticked() {
  return find("[name=acknowledged]").checked ? { acknowledged: "yes" } : {}
}

function say(text) {
  find("[role=alert]").textContent = text
}
`
