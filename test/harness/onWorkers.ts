/** A module of Workers that says where it runs. */
export default {
  fetch: (): Response => Response.json({ engine: navigator.userAgent, hasNode: "process" in globalThis })
}
