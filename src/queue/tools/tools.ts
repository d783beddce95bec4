import { cancel, push, run, send } from './change.ts'
import { check, inbox, queue, receive } from './read.ts'
import type { QueueTool } from './tool.ts'

/** The queue tools of the built-in agent and of the MCP server. */
export const TOOLS: readonly QueueTool[] = [push, run, receive, check, send, queue, inbox, cancel]
