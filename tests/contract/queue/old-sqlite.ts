import { openSqliteStore } from '../../../src/queue/sqlite-store.ts'
import type { OpenStore } from './store-kind.ts'

/** Without a write-ahead log, as with an old SQLite. */
export const openOldStore: OpenStore = (place, options) =>
  openSqliteStore(place, { ...options, journal: 'delete' })
