/** What the system calls its failure: `EACCES`, `ENOENT`. Its errors carry that beside what the language knows of them. */
export const systemCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined
