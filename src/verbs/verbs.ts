import { cancel, push, run, send } from './change.ts'
import { check, inbox, queue, receive } from './read.ts'
import type { Verb } from './verb.ts'

/** The verbs of queue and inbox, as every agent gets them that calls tools. */
export const VERBS: readonly Verb[] = [push, run, receive, check, send, queue, inbox, cancel]
