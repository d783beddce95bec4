import { mkdirSync, existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { processIdentity } from './process-identity.ts'

const GROUP_NAME = /^forkhestra-(\d+)-(.+)$/

/**
 * A cgroup (v2) for the processes of one run. Children inherit the group, so that no process can escape
 * by forking, and the kernel kills all of them at once.
 */
export class Cgroup {
  readonly #folder: string
  /** The group that this process came from; undefined if this process is not in the group. */
  #outside: string | undefined

  private constructor(folder: string, outside?: string) {
    this.#folder = folder
    this.#outside = outside
  }

  /** Moves this process into a new group; undefined if the system does not allow it. */
  static async enter(run: string): Promise<Cgroup | undefined> {
    const outside = ownFolder()
    if (outside === undefined) return undefined
    for (const [folder] of leftIn(outside)) removeFolder(folder)
    const folder = join(outside, `forkhestra-${process.pid}-${run}`)
    try {
      mkdirSync(folder)
    } catch {
      return undefined
    }
    try {
      if (!existsSync(join(folder, 'cgroup.kill'))) throw new Error('Linux before 5.14')
      // Asynchronous, because the kernel may take 15 ms.
      await writeFile(procsOf(folder), String(process.pid))
      return new Cgroup(folder, outside)
    } catch {
      removeFolder(folder)
      return undefined
    }
  }

  /** Groups whose forkhestra process is dead, by run. */
  static left(): Map<string, Cgroup[]> {
    const outside = ownFolder()
    const byRun = Map.groupBy(outside === undefined ? [] : leftIn(outside), ([, run]) => run)
    return new Map(
      [...byRun].map(([run, left]) => [run, left.map(([folder]) => new Cgroup(folder))]),
    )
  }

  /** The processes in the group, except this one. */
  list(): number[] {
    return pidsIn(this.#folder).filter((pid) => pid !== process.pid)
  }

  /** Kills all processes but this one, which leaves the group first. */
  kill(): void {
    if (this.#outside !== undefined) {
      // Still inside, this process would kill itself.
      if (!tryWrite(procsOf(this.#outside), String(process.pid))) return
      this.#outside = undefined
    }
    tryWrite(join(this.#folder, 'cgroup.kill'), '1')
  }

  /** Leaves the group and removes it, unless something still runs in it. */
  async leave(): Promise<void> {
    const outside = this.#outside
    this.#outside = undefined
    if (outside !== undefined) {
      await writeFile(procsOf(outside), String(process.pid)).catch(() => undefined)
    }
    removeFolder(this.#folder)
  }
}

/** The folder of this process's group; undefined if it is not visible. */
function ownFolder(): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const path = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    // Fields: id, parent, device, root, mount point, options …, a dash, the kind of file system.
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    const mount = mounts.find((line) => line.includes(' - cgroup2 '))?.split(' ')
    const [root, point] = [mount?.[3], mount?.[4]]
    if (path === undefined || root === undefined || point === undefined) return undefined
    const inside = relative(root, path)
    // The group is outside of what this container can see.
    return inside.startsWith('..') || path.includes('/..') ? undefined : join(point, inside)
  } catch {
    return undefined
  }
}

/** Groups whose forkhestra process is dead. */
function leftIn(outside: string): [folder: string, run: string][] {
  return foldersIn(outside).flatMap((name) => {
    const [, pid, run] = GROUP_NAME.exec(name) ?? []
    if (pid === undefined || run === undefined) return []
    return processIdentity(Number(pid)) === undefined ? [[join(outside, name), run]] : []
  })
}

function procsOf(folder: string): string {
  return join(folder, 'cgroup.procs')
}

/** Includes nested groups: a run inside a run has a group inside of its group. */
function pidsIn(folder: string): number[] {
  const inside = foldersIn(folder).flatMap((name) => pidsIn(join(folder, name)))
  try {
    const listed = readFileSync(procsOf(folder), 'utf8').split('\n').filter(Boolean)
    return [...listed.map(Number), ...inside]
  } catch {
    return inside
  }
}

/** The kernel refuses to remove a group with a process in it. */
function removeFolder(folder: string): void {
  for (const name of foldersIn(folder)) removeFolder(join(folder, name))
  try {
    rmdirSync(folder)
  } catch {
    // The next run tries again.
  }
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch {
    return []
  }
}

function tryWrite(path: string, text: string): boolean {
  try {
    writeFileSync(path, text)
    return true
  } catch {
    return false
  }
}
