import type { Page } from "playwright-core"

/** Ticks the box of a consent page, where no person has let its application in yet. */
export const acknowledge = async (tab: Page): Promise<void> => {
  await tab.getByRole("button", { name: "Approve", exact: true }).waitFor()
  const box = tab.getByRole("checkbox")
  if ((await box.count()) > 0) await box.check()
}

export const approve = async (tab: Page): Promise<void> => {
  await acknowledge(tab)
  await tab.getByRole("button", { name: "Approve", exact: true }).click()
}
