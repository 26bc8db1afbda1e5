import { install } from "./launch/launch.mjs"

install()
