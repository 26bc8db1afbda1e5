import { Effect, Redacted, Result } from "effect"
import { loadAdapter, openLazily, type StoreKind, withoutSecrets } from "../StoreKind.ts"
import { checkPostgresUrl, type PostgresOptions } from "./Options.ts"

export const postgres: StoreKind = {
  schemes: ["postgres", "postgresql"],
  looks: "postgres://…",
  shared: true,
  lasts: true,
  entry: "postgres",
  driver: "postgres",
  at: (text) =>
    Result.map(checkPostgresUrl(text), ({ migrations = "run", schema = "tessera" }) => {
      const url = Redacted.make(text, { label: "DATABASE_URL" })
      const described = `PostgreSQL at ${withoutSecrets(url)}`
      const adapter = loadAdapter(described, postgres.driver, () => import("./Postgres.ts"))
      const optionsOf = (deadline: number | undefined): PostgresOptions =>
        deadline === undefined ? { url } : { url, deadline }
      return {
        kind: postgres,
        described,
        location: [text.replace(/\?.*$/, ""), ...new URL(text).searchParams.getAll("host"), schema].join(" "),
        open: (opening) =>
          openLazily(
            described,
            async () =>
              (await import("./Postgres.ts")).layer({
                ...optionsOf(opening.deadline),
                ...(opening.migrations === undefined ? {} : { migrations: opening.migrations })
              }),
            postgres.driver
          ),
        migrate: ({ deadline }) => ({
          atStart: migrations === "run",
          plan: Effect.flatMap(adapter, ({ plan }) => plan(optionsOf(deadline))),
          run: Effect.flatMap(adapter, ({ migrate }) => migrate(optionsOf(deadline)))
        })
      }
    })
}
