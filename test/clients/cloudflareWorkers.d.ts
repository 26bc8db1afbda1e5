/** What a module finds in its environment before any request. */
declare module "cloudflare:workers" {
  export const env: Readonly<Record<string, unknown>>
}
