import { longest } from "./answers.ts"

/** One address in a client's metadata, and what comes of it. */
export interface Row {
  /** `PORT`: that of the private server, for `allow` to let in; `ELSEWHERE`: that of the one behind public addresses. */
  readonly address: string
  /** What DNS says, look-up by look-up. Without it: one public address. */
  readonly dns?: ReadonlyArray<ReadonlyArray<string>>
  /** `FETCH_ALLOW`, and then the connection goes where it is said to go. */
  readonly allow?: string
  readonly ca?: "private"
  /** Which of the test's servers stands behind all public addresses. */
  readonly server?: "plain" | "mute" | "none"
  /** Milliseconds, where it is to run out; a form that comes to something all the same has time. */
  readonly within?: number
  readonly comes: string
  /** What comes of a form that is sent there, where `comesOfForm` does not know. */
  readonly posts?: string
  /** Where connections went, of those that were asked for. */
  readonly dialed?: ReadonlyArray<string>
}

/** A public address; no connection goes there. */
export const somewhere = "93.184.216.34"
const another = "93.184.216.33"
const elsewhere = "93.184.216.35"
const ipv6 = "2606:2800:220:1::1"

const path = (at: string, comes: string, over: Partial<Row> = {}): Row => ({
  address: `https://keys.example${at}`,
  comes,
  ...over
})

const each = (comes: string, over: Partial<Row>, addresses: ReadonlyArray<string>): ReadonlyArray<Row> =>
  addresses.map((address) => ({ address, comes, ...over }))

const resolving = (comes: string, ...answers: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<Row> =>
  answers.map((dns) => ({ address: "https://keys.example/keys", dns: [dns], comes }))

const paths = (comes: string, all: string, over: Partial<Row> = {}): ReadonlyArray<Row> =>
  all.split(" ").map((at) => path(at, comes, over))

export const rows: ReadonlyArray<Row> = [
  // What is fetched.
  ...each("ok", { dialed: [`${somewhere}:443`] }, [
    "https://keys.example/keys",
    "https://keys.example:443/keys",
    "https://keys.example:0443/keys",
    "https://KEYS.example/keys?tenant=1",
    "HTTPS://keys.example/keys",
    "https://%6beys.example/keys",
    "https://xn--bcher-kva.example/keys",
    `https://${somewhere}/keys`,
    "https://0x5d.184.216.34/keys",
    "https://1572395042/keys"
  ]),
  path(":8443/keys", "ok", { dialed: [`${somewhere}:8443`] }),
  { address: `https://[${ipv6}]/keys`, comes: "ok", dialed: [`${ipv6}:443`] },
  ...paths("ok", "/jwk-set /charset /longest /chunked /until-closed /identity /byte-order-mark /early-hints"),

  // Addresses that are none of ours to go to.
  ...each("bad_address", {}, [
    "",
    "keys.example/keys",
    "http://keys.example/keys",
    "ftp://keys.example/keys",
    "file:///etc/passwd",
    "data:application/json,{}",
    "javascript:1",
    "https:/keys.example/keys",
    "https:keys.example/keys",
    "https:///keys.example/keys",
    "https://",
    "https://user@keys.example/keys",
    "https://user:secret@keys.example/keys",
    "https://@keys.example/keys",
    "https://keys.example@127.0.0.1/keys",
    "https://keys.example/keys#fragment",
    "https://keys.example/keys#",
    "https://keys.example./keys",
    "https://keys.example:80/keys",
    "https://keys.example:22/keys",
    "https://keys.example:6379/keys",
    "https://keys.example:0/keys",
    "https://keys.example:65536/keys",
    "https://keys.example:443:80/keys",
    "https://keys.example:-443/keys",
    "https://keys.example\\@127.0.0.1/keys",
    "https://keys.example\\keys",
    "https://bücher.example/keys",
    "https://１２７.0.0.1/keys",
    "https://127。0。0。1/keys",
    "https://keys.example/k\teys",
    "https://127.0.0.1\n/keys",
    " https://keys.example/keys",
    "https://keys example/keys",
    "https://keys.example%00.evil.example/keys",
    "https://keys%2eexample%2fevil/keys",
    "https://[fe80::1%25eth0]/keys",
    "https://[::1/keys",
    "https://1.2.3.4.5/keys",
    "https://256.256.256.256/keys",
    `https://keys.example/${"a".repeat(2100)}`
  ]),

  // Addresses of a private network, in every spelling.
  ...each("address_refused", {}, [
    "https://127.0.0.1/keys",
    "https://127.0.0.1./keys",
    "https://127.1/keys",
    "https://127.0.1/keys",
    "https://0177.0.0.1/keys",
    "https://0x7f.1/keys",
    "https://0x7f000001/keys",
    "https://2130706433/keys",
    "https://017700000001/keys",
    "https://0/keys",
    "https://0.0.0.0:8443/keys",
    "https://%31%32%37.0.0.1/keys",
    "https://127%2e0%2e0%2e1/keys",
    "https://10.0.0.5/keys",
    "https://100.100.100.200/latest/meta-data",
    "https://168.63.129.16/keys",
    "https://169.254.169.254/latest/meta-data",
    "https://0xa9fea9fe/latest/meta-data",
    "https://172.31.255.255/keys",
    "https://192.168.1.1/keys",
    "https://255.255.255.255/keys",
    "https://[::]/keys",
    "https://[::1]/keys",
    "https://[0:0:0:0:0:0:0:1]/keys",
    "https://[::ffff:127.0.0.1]/keys",
    "https://[::ffff:7f00:1]/keys",
    "https://[::ffff:93.184.216.34]/keys",
    "https://[::127.0.0.1]/keys",
    "https://[fe80::1]/keys",
    "https://[fd00:ec2::254]/latest/meta-data",
    "https://[ff02::1]/keys",
    "https://[64:ff9b::10.0.0.1]/keys",
    "https://[64:ff9b:1::10.0.0.1]/keys",
    "https://[2001::1]/keys",
    "https://[2001:db8::1]/keys",
    "https://[2002:7f00:1::]/keys"
  ]),

  // Names that lead there.
  ...resolving(
    "address_refused",
    ["127.0.0.1"],
    ["0.0.0.0"],
    ["10.1.2.3"],
    ["169.254.169.254"],
    ["100.64.0.1"],
    ["192.168.0.10"],
    ["::1"],
    ["::"],
    ["::ffff:10.0.0.1"],
    ["fe80::1"],
    ["fe80::1%eth0"],
    ["fd12:3456::1"],
    ["64:ff9b::7f00:1"],
    ["2002:a00:1::"],
    [somewhere, "127.0.0.1"],
    ["127.0.0.1", somewhere],
    [somewhere, ipv6, "fd00::1"],
    ["localhost"],
    ["0177.0.0.1"],
    ["93.184.216.34 "],
    [""]
  ),
  ...each("unreachable", { dns: [[]] }, ["https://nowhere.example/keys", "https://localhost/keys"]),
  // The second look-up says what the first did not: the first fetch asks once and goes where it was told.
  path("/keys", "ok, then address_refused", { dns: [[somewhere], ["127.0.0.1"]], dialed: [`${somewhere}:443`] }),
  path("/keys", "address_refused, then ok", { dns: [["127.0.0.1"], [somewhere]], dialed: [`${somewhere}:443`] }),
  path("/keys", "ok", { dns: [["64:ff9b::5db8:d822"]], dialed: ["64:ff9b::5db8:d822:443"] }),
  path("/keys", "ok", { dns: [[ipv6, somewhere]], dialed: [`${somewhere}:443`] }),
  // Four addresses are tried, however many a stranger's name has.
  ...resolving("ok", ["8.8.4.35", "8.8.8.35", "9.9.9.35", somewhere]),
  ...resolving("unreachable", ["8.8.4.35", "8.8.8.35", "9.9.9.35", elsewhere, somewhere]),
  path("/keys", "ok", { dns: [[elsewhere, somewhere]], dialed: [`${elsewhere}:443`, `${somewhere}:443`] }),
  // Once a connection came about, no other address is told what was sent.
  path("/closes", "unreachable", { dns: [[somewhere, another]], dialed: [`${somewhere}:443`] }),
  {
    address: "https://wrong.example/keys",
    dns: [[somewhere, another]],
    comes: "unreachable",
    dialed: [`${somewhere}:443`]
  },

  // What answers there.
  ...paths("redirected", "/300 /301 /302 /303 /304 /307 /308"),
  ..."201 204 206 401 404 500".split(" ").map((status) => path(`/${status}`, "status", { posts: status })),
  ...paths("too_long", "/one-too-long /endless /endless-chunks /says-it-is-long"),
  ...paths("unreachable", "/longer-than-it-says /shorter-than-it-says /unfinished-chunks", { posts: "200" }),
  ...paths("unreachable", "/two-lengths /length-and-chunks /negative-length"),
  ...paths("timed_out", "/silent /half-a-head /dripping-head /endless-hints", { within: 300 }),
  ...paths("timed_out", "/half-a-body /dripping-body", { within: 300, posts: "200" }),
  ...paths("not_json", "/gzip /gzip-bomb /brotli /gzip-in-gzip /gzip-unsaid /gzip-as-transfer"),
  ...paths(
    "not_json",
    "/html /text-json /javascript /jsonp /image-json /no-type /two-types /two-types-and-a-parameter /type-list"
  ),
  ...paths("not_json", "/latin1 /utf16 /overlong /surrogate /empty /words /two-documents /deep"),
  ...paths("unreachable", "/101 /http-0.9 /ssh /http2 /no-status /folded /nul /huge-header /many-headers /closes"),

  // Who answers there.
  ...each("unreachable", {}, [
    "https://wrong.example/keys",
    "https://itself.example/keys",
    "https://expired.example/keys",
    "https://internal.example/keys",
    "https://8.8.8.8/keys",
    "https://a..b/keys",
    "https://*.example/keys",
    "https://x'y_z.example/keys",
    "https://~/keys",
    `https://${"a".repeat(64)}.example/keys`,
    `https://${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.${"e".repeat(60)}.example/keys`
  ]),
  path("/keys", "unreachable", { server: "plain" }),
  path("/keys", "unreachable", { server: "none" }),
  path("/keys", "timed_out", { server: "mute", within: 300 }),
  // An authority of the private network says nothing about hosts outside of it.
  { address: "https://internal.example/keys", ca: "private", comes: "unreachable" },

  // What the operator lets in, at this machine itself.
  ...each("ok", { allow: "localhost:PORT, 127.0.0.1:PORT", ca: "private" }, [
    "https://localhost:PORT/keys",
    "https://LOCALHOST:PORT/keys",
    "https://127.0.0.1:PORT/keys",
    "https://127.1:PORT/keys"
  ]),
  ...each("unreachable", { allow: "localhost:PORT" }, ["https://localhost:PORT/keys"]),
  // Whom the runtime trusts by itself is trusted beside the authority.
  ...each("ok", { allow: "127.0.0.1:ELSEWHERE", ca: "private" }, ["https://127.0.0.1:ELSEWHERE/keys"]),
  ...each("bad_address", { allow: "localhost:PORT, localhost", ca: "private" }, [
    "https://127.0.0.1:PORT/keys",
    "https://localhost.:PORT/keys",
    "https://user@localhost:PORT/keys",
    "https://localhost:6379/keys",
    "http://localhost:PORT/keys"
  ]),
  ...each("redirected", { allow: "localhost:PORT", ca: "private" }, ["https://localhost:PORT/302"])
]

/** The body of an answer to a form is not read, so nothing that is wrong with it, or endless about it, counts. */
export const comesOfForm = ({ comes, posts }: Row): string => posts ?? comes.replace(/ok|too_long|not_json/g, "200")

export const nameOf = ({ address, allow, ca, dns, server }: Row): string =>
  [
    JSON.stringify(address.length > 100 ? `${address.slice(0, 100)}…` : address),
    ...(dns === undefined
      ? []
      : [`where DNS says ${dns.map((answer) => answer.join(" and ") || "nothing").join(", then ")}`]),
    ...(server === undefined ? [] : [`(${server})`]),
    ...(allow === undefined ? [] : [`with ${allow}`]),
    ...(ca === undefined ? [] : ["and an authority"])
  ].join(" ")

export { longest }
