/** `tessera/runtime/fetch`: for whatever speaks `Request` and `Response`. */
export { type FetchHandler, fetchHandler, type PeerOf } from "./fetch/handler.ts"
export type { HonoContext } from "./fetch/mount.ts"
export {
  type FetchMount,
  type FetchMountOptions,
  fetchMount,
  type HonoMount,
  type HonoMountOptions,
  honoMount
} from "./fetch/mount.ts"
export { type Serve, serveWith } from "./serve/Serve.ts"
