import type { Adapter, AdapterPayload } from "oidc-provider"
import { Pool } from "pg"

const table = `CREATE TABLE payloads (
  model text, id text, payload jsonb NOT NULL, grant_id text, expires_at timestamptz, consumed_at timestamptz,
  PRIMARY KEY (model, id))`

/** A table of payloads, as the adapter for PostgreSQL that its repository shows, without a query builder between. */
export const inPostgres = async (url: string) => {
  const pool = new Pool({ connectionString: url })
  await pool.query(table)
  await pool.query("CREATE INDEX ON payloads (grant_id)")

  /** Named, so that each is prepared once. */
  const ask = (name: string, text: string, values: ReadonlyArray<unknown>) =>
    pool.query({ name, text, values: [...values] })

  class TableAdapter implements Adapter {
    private readonly model: string

    constructor(model: string) {
      this.model = model
    }

    async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
      const text = `INSERT INTO payloads (model, id, payload, grant_id, expires_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (model, id) DO UPDATE SET payload = $3, grant_id = $4, expires_at = $5`
      const end = expiresIn ? new Date(Date.now() + expiresIn * 1000) : null
      await ask("upsert", text, [this.model, id, payload, payload.grantId ?? null, end])
    }

    async find(id: string): Promise<AdapterPayload | undefined> {
      const text = "SELECT payload, consumed_at FROM payloads WHERE model = $1 AND id = $2"
      const [row] = (await ask("find", text, [this.model, id])).rows
      if (row === undefined) return undefined
      return row.consumed_at === null ? row.payload : { ...row.payload, consumed: true }
    }

    async findByUserCode(): Promise<undefined> {}

    async findByUid(): Promise<undefined> {}

    async consume(id: string): Promise<void> {
      await ask("consume", "UPDATE payloads SET consumed_at = now() WHERE model = $1 AND id = $2", [this.model, id])
    }

    async destroy(id: string): Promise<void> {
      await ask("destroy", "DELETE FROM payloads WHERE model = $1 AND id = $2", [this.model, id])
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      await ask("revoke", "DELETE FROM payloads WHERE grant_id = $1", [grantId])
    }
  }

  return {
    adapter: TableAdapter,
    clear: async (): Promise<void> => {
      await pool.query("TRUNCATE payloads")
    }
  }
}
