import { readdirSync, readFileSync } from 'node:fs'
import { isAlive } from '../../support/forkhestra.ts'

/** The living processes that belong to a run, by the variable that all of them have. */
export function processesOf(run: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || !isAlive(Number(pid))) return false
    return readVariables(pid).includes(`FORKHESTRA_RUN_ID=${run}`)
  })
}

/** Of a process that is gone by now there are none. */
function readVariables(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}
