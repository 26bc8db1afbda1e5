import { Command } from "ioredis"

/**
 * A command that knows whether the server may have got it. ioredis says "Connection is closed." both for what it sent
 * and for what it never sent, and for a write that is the difference between "unknown" and "not done".
 */
export class TrackedCommand extends Command {
  /** It went out, and no answer since has said that it was refused. */
  mayHaveArrived = false
  private abandoned = false
  private readonly travelsWithOthers: boolean

  constructor(name: string, args: ReadonlyArray<string | number>, travelsWithOthers: boolean) {
    super(name, [...args], { replyEncoding: "utf8" })
    this.travelsWithOthers = travelsWithOthers
    // As if it had been published already: what listens on diagnostics channels must not see records.
    this.isTraced = true
  }

  /** Nobody waits any more: if it has not gone out yet, it never will. */
  abandon(): void {
    this.abandoned = true
  }

  override toWritable(socket: object): string | Buffer {
    if (this.abandoned) {
      // ioredis counts on one answer for each command, so something harmless goes in its place.
      this.name = "ping"
      this.args = []
      return super.toWritable(socket)
    }
    if (this.travelsWithOthers) holdUntilTurnEnds(socket)
    this.mayHaveArrived = true
    return super.toWritable(socket)
  }
}

interface Corkable {
  readonly cork: () => void
  readonly uncork: () => void
}

const isCorkable = (socket: object): socket is Corkable => "cork" in socket && "uncork" in socket

const held = new WeakSet<object>()

/** What is written to the socket in this turn of the event loop leaves in one piece: a pipeline. */
const holdUntilTurnEnds = (socket: object): void => {
  if (held.has(socket) || !isCorkable(socket)) return
  held.add(socket)
  socket.cork()
  process.nextTick(() => {
    held.delete(socket)
    socket.uncork()
  })
}
