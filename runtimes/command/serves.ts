/** Whether these arguments are those of a server. For whoever may not load the command line yet, which knows it better. */
export const serves = (args: ReadonlyArray<string>): boolean => args.includes("serve")
