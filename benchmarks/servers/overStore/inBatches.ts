type Run = (ids: ReadonlyArray<string>) => Promise<ReadonlyArray<boolean>>
type Answer = (answer: boolean) => void

/** One batch under way; what comes meanwhile is the next. The first waits for what else the turn brings. */
export const inBatches = (run: Run, atOnce: number): ((id: string) => Promise<boolean>) => {
  let ids: Array<string> = []
  let answers: Array<Answer> = []
  let isBusy = false

  const work = async () => {
    while (ids.length > 0) {
      const [batch, waiting] = [ids.slice(0, atOnce), answers.slice(0, atOnce)]
      ids = ids.slice(atOnce)
      answers = answers.slice(atOnce)
      const done = await run(batch)
      for (const [at, answer] of waiting.entries()) answer(done[at] === true)
    }
    isBusy = false
  }

  return (id) =>
    new Promise((resolve) => {
      ids.push(id)
      answers.push(resolve)
      if (isBusy) return
      isBusy = true
      setImmediate(work)
    })
}
