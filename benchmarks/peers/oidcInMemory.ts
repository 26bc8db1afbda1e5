import type { Adapter, AdapterPayload } from "oidc-provider"

/**
 * The package's own adapter in memory forgets all but a thousand entries, so this is the example of its documentation
 * over a plain Map, which is less work.
 */
const stored = new Map<string, AdapterPayload>()
const byGrant = new Map<string, Set<string>>()

class MapAdapter implements Adapter {
  private readonly model: string

  constructor(model: string) {
    this.model = model
  }

  private key(id: string): string {
    return `${this.model}:${id}`
  }

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    const key = this.key(id)
    stored.set(key, payload)
    if (payload.grantId === undefined) return
    const members = byGrant.get(payload.grantId)
    if (members === undefined) byGrant.set(payload.grantId, new Set([key]))
    else members.add(key)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return stored.get(this.key(id))
  }

  async findByUserCode(): Promise<undefined> {}

  async findByUid(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    const payload = stored.get(this.key(id))
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id: string): Promise<void> {
    stored.delete(this.key(id))
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const key of byGrant.get(grantId) ?? []) stored.delete(key)
    byGrant.delete(grantId)
  }
}

export const inMemory = {
  adapter: MapAdapter,
  clear: async (): Promise<void> => {
    stored.clear()
    byGrant.clear()
  }
}
