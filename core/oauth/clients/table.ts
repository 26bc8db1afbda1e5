import type { ClientAuth } from "./ClientAuth.ts"
import { none } from "./none.ts"
import { privateKeyJwt } from "./privateKeyJwt.ts"
import { secretBasic } from "./secretBasic.ts"
import { secretPost } from "./secretPost.ts"

/** How clients authenticate. The metadata, registration and the OpenAPI document name the rows in this order. */
export const clientAuths: ReadonlyArray<ClientAuth> = [secretBasic, secretPost, privateKeyJwt, none]
