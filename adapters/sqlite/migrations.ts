/**
 * Bodies are too long for a table without rowids to stay shallow, so records lie in the order of their making and the
 * primary key is an index beside them. Ids, owners and workspaces are key text (`../KeyText.ts`), bodies are JSON.
 */
const recordTable = (name: string): string => `
  CREATE TABLE ${name} (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    expires_at INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
  ) STRICT;
  CREATE INDEX ${name}_by_owner ON ${name} (workspace, owner, id);
  CREATE INDEX ${name}_by_expiry ON ${name} (expires_at) WHERE expires_at IS NOT NULL;`

/**
 * Sweeping looks at a record from `sweep_at` on, which is when it was to expire once, and never later than it expires.
 * So prolonging a record, as each refresh of a grant does, leaves the index alone: it is a fourth of what that takes.
 */
const sweepLazily = (name: string): string => `
  ALTER TABLE ${name} ADD COLUMN sweep_at INTEGER;
  UPDATE ${name} SET sweep_at = expires_at WHERE expires_at IS NOT NULL;
  DROP INDEX ${name}_by_expiry;
  CREATE INDEX ${name}_by_sweep ON ${name} (sweep_at) WHERE sweep_at IS NOT NULL;`

const first = ["clients", "grants", "usages", "accounts", "logins", "sessions", "links", "limits"]

/**
 * What to run, in this order, on an empty file. A file's `user_version` is how many it has seen. Only ever add at the
 * end; what has been released stays as it is, so nothing here may follow a list that grows elsewhere.
 */
export const migrations: ReadonlyArray<string> = [first.map(recordTable).join("\n"), first.map(sweepLazily).join("\n")]
