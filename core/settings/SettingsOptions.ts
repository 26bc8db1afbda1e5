export interface SettingsOptions {
  /** A host with accounts of its own says so, and no page leads to those that are built in. */
  readonly accountsElsewhere?: boolean
  /** The home page alone, which then leads to no settings. */
  readonly homeOnly?: boolean
}
