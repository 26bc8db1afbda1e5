// What launch.test.ts launches: it says what it was given, and ends as it is told.
const [order, ...rest] = process.argv.slice(2)

process.on("SIGTERM", () => {
  console.log("drained")
  process.exit(9)
})

console.log(JSON.stringify(rest))
if (order === "wait") setInterval(() => undefined, 1000)
else if (order === "die") process.kill(process.pid, "SIGKILL")
else process.exit(Number(order))
