import { printable } from '../../base/printable.ts'
import { localTime } from '../../base/local-time.ts'
import type { Claim } from '../store/state.ts'

/** Others may end what somebody is at; whoever does it should know. */
export function takenWords(id: string, { owner, at }: Claim): string {
  return `${id} was held by ${printable(owner)} since ${localTime(at)}, who may still be at it.`
}
