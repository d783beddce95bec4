import { planIn } from '../queue/store.ts'

/** Whether a record is that of a chat. */
export function isChat(folder: string): boolean {
  return planIn(folder).isChat === true
}
