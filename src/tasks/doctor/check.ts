import { join } from 'node:path'
import { inArchive, isArchived } from '../archive.ts'
import type { Draft } from '../store/change.ts'
import { listFiles } from '../store/folder.ts'
import type { TaskFolders } from '../folders.ts'
import { readTasks, type Scan } from '../store/scan.ts'
import type { Task } from '../task.ts'

export interface Finding {
  readonly file: string
  readonly line?: number
  readonly problem: string
  /** What the fix did; absent if a person has to act. */
  readonly mended?: string
}

export interface Database extends Scan {
  readonly archived: Scan
}

/** What a fix gets besides the database. */
export interface FixTools {
  readonly draft: Draft
  readonly now: Date
  /** References to the younger of two tasks with the same id; found before the database is locked. */
  readonly youngerReferences: ReadonlySet<string>
}

export interface TaskCheck {
  readonly find: (folders: TaskFolders, database: Database) => Finding[]
  readonly fix?: (folders: TaskFolders, database: Database, tools: FixTools) => Finding[]
  /** Completes the finding of a fix after the lock is released. */
  readonly completeFix?: (folders: TaskFolders, fixed: Finding) => Finding
}

/** Findings that are fixed together. */
export interface TaskProblem {
  /** `mended` says what the fix does. */
  readonly findings: readonly Finding[]
  /** Absent if a person has to act. */
  readonly fix?: ((tools: FixTools) => void) | undefined
  /** Appended to the problem while it is not fixed. */
  readonly advice?: string
}

export function makeCheck(
  findProblems: (folders: TaskFolders, database: Database) => readonly TaskProblem[],
): TaskCheck {
  return {
    find: (folders, database) =>
      findProblems(folders, database).flatMap(({ findings, advice = '' }) =>
        findings.map((finding) => {
          const { mended: _, ...found } = finding
          return { ...found, problem: `${found.problem}${advice}` }
        }),
      ),
    fix: (folders, database, tools) =>
      findProblems(folders, database).flatMap(({ findings, fix }) => {
        fix?.(tools)
        return fix === undefined ? [] : findings
      }),
  }
}

export interface LocatedTask {
  readonly task: Task
  readonly path: string
}

/** All readable tasks, open ones first. */
export function allTasks({ tasks, archive }: TaskFolders): LocatedTask[] {
  return [tasks, archive].flatMap((folder) =>
    readTasks(folder, listFiles(folder)).tasks.map((task) => {
      return { task, path: join(folder, task.file) }
    }),
  )
}

export function fileNameOf(located: LocatedTask, folders: TaskFolders): string {
  const { file } = located.task
  return isArchived(located, folders) ? inArchive(folders, file) : file
}
