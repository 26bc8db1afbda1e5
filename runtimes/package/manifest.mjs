/**
 * What this checkout's package.json says, as far as a package is made of it.
 *
 * @typedef {{
 *   name: string, version: string, description: string, license: string, type: string, engines: object,
 *   dependencies: Record<string, string>, devDependencies: Record<string, string>, exports: Record<string, string>
 * }} Checkout
 */

/** Drivers and frameworks: an application that uses one has it, and no other needs it. */
const optional = ["elysia", "ioredis", "postgres"]

/** An application that hands an Effect to this package and gets one back must have the very same `effect`. */
const shared = "effect"

/** Where the folder that is packed begins: all else in it, such as a compiled binary, stays at home. */
export const rooms = ["adapters", "core", "runtimes"]

/** @param {string} source a module of this checkout, as `./core/index.ts` */
const builtEntry = (source) => {
  const path = source.replace(/\.ts$/, "")
  return { types: `${path}.d.ts`, default: `${path}.js` }
}

/**
 * The package.json of the package. Here everything is pinned; an embedder's project decides for itself.
 *
 * @param {Checkout} checkout
 */
export const manifest = ({ dependencies, devDependencies, exports, ...checkout }) => {
  const { [shared]: effect = "", ...own } = dependencies
  /** @param {string | undefined} pinned */
  const since = (pinned) => `^${pinned}`
  return {
    name: checkout.name,
    version: checkout.version,
    description: checkout.description,
    license: checkout.license,
    type: checkout.type,
    engines: checkout.engines,
    // Modules that are imported for what they do. A bundler leaves out the like of them otherwise.
    sideEffects: ["runtimes/serve/platformHashing", "runtimes/server/compileSchemas", "runtimes/node/main"].map(
      (name) => `./${name}.js`
    ),
    files: [...rooms, "CHANGELOG.md"],
    bin: { tessera: "runtimes/node/main.js" },
    exports: {
      ...Object.fromEntries(Object.entries(exports).map(([name, source]) => [name, builtEntry(source)])),
      "./package.json": "./package.json"
    },
    dependencies: Object.fromEntries(Object.entries(own).map(([name, pinned]) => [name, since(pinned)])),
    peerDependencies: {
      [shared]: since(effect),
      ...Object.fromEntries(optional.map((name) => [name, since(devDependencies[name])]))
    },
    peerDependenciesMeta: Object.fromEntries(optional.map((name) => [name, { optional: true }]))
  }
}
