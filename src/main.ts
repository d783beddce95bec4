import { VERSION } from './setup/version.ts'

/**
 * Verbs of every day. The build makes one piece of each, which loads faster than many small ones;
 * `require` finds it at once, where `import` would start a thread first.
 */
const QUICK_TASKS: Readonly<Record<string, () => { readonly tasksMain: TasksMain }>> = {
  list: () => require('./cli/tasks/quick/list.ts'),
  next: () => require('./cli/tasks/quick/next.ts'),
  view: () => require('./cli/tasks/quick/view.ts'),
  edit: () => require('./cli/tasks/quick/edit.ts'),
  create: () => require('./cli/tasks/quick/create.ts'),
  claim: () => require('./cli/tasks/quick/claim.ts'),
}

type TasksMain = (args: readonly string[]) => Promise<number>

// One program under several names: the name by which it was called decides.
const args = process.argv.slice(2)
const name = process.argv0.slice(process.argv0.lastIndexOf('/') + 1)
if (args[0] === '--version') {
  console.log(VERSION)
} else if (name === 'forge-tasks') {
  const verb = args[0] ?? ''
  const quick = Object.hasOwn(QUICK_TASKS, verb) ? QUICK_TASKS[verb]?.() : undefined
  const { tasksMain } = quick ?? (await import('./cli/tasks/main.ts'))
  process.exit(await tasksMain(args))
} else if (/^(?:forge-)?task-(?:manager|coordinator|worker)$/.test(name)) {
  const { bundledMain } = await import('./cli/bundled/main.ts')
  process.exit(await bundledMain(name, args))
} else {
  const { main } = await import('./cli/main.ts')
  process.exit(await main(args))
}
