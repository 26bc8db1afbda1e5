/** Where a test lets the README's two addresses be: the ports are all that it changes in what is printed. */
export interface Ports {
  /** Instead of 3000. */
  readonly server: number
  /** Instead of 8080, where the tour's application listens. */
  readonly callback: number
}

export const withPorts = (text: string, { callback, server }: Ports): string =>
  text
    .replaceAll("127.0.0.1:3000", `127.0.0.1:${server}`)
    .replaceAll("port: 3000", `port: ${server}`)
    .replaceAll("listen(3000", `listen(${server}`)
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${callback}`)
    .replaceAll("listen(8080", `listen(${callback}`)
