/** The version, as `package.json` has it; a test compares them. */
export const version = "0.1.0"

/** Whether these arguments start a server. It stands here so that a start can ask without loading the command line. */
export const serves = (args: ReadonlyArray<string>): boolean => args.includes("serve")
