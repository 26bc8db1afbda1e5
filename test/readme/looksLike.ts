const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** Printed output as a pattern: `…` stands for anything, all else for itself. */
export const looksLike = (printed: string): RegExp =>
  new RegExp(`^${printed.split("…").map(escaped).join(".*?")}\\s*$`, "s")
