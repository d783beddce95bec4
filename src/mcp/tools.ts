import type { Tool } from './tool.ts'
import { archive } from './tools/archive.ts'
import { claim } from './tools/claim.ts'
import { create } from './tools/create.ts'
import { doctor } from './tools/doctor.ts'
import { edit } from './tools/edit.ts'
import { list } from './tools/list.ts'
import { next } from './tools/next.ts'
import { view } from './tools/view.ts'

export const TOOLS: readonly Tool[] = [next, edit, view, list, create, claim, archive, doctor]
