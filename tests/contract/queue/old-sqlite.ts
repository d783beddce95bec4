import { openSqliteStore } from '../../../src/queue/sqlite-store.ts'
import type { OpenStore } from './home.ts'

/** As on a machine whose SQLite is too old for a write-ahead log. */
export const openOldStore: OpenStore = (place, options) =>
  openSqliteStore(place, { ...options, journal: 'delete' })
