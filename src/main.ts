import { VERSION } from './setup/version.ts'

/** Verbs of every day. The build makes one piece of each, which loads faster than many small ones. */
const QUICK_TASKS = {
  list: () => import('./cli/tasks/quick/list.ts'),
  next: () => import('./cli/tasks/quick/next.ts'),
  view: () => import('./cli/tasks/quick/view.ts'),
  edit: () => import('./cli/tasks/quick/edit.ts'),
  create: () => import('./cli/tasks/quick/create.ts'),
  claim: () => import('./cli/tasks/quick/claim.ts'),
}

function isQuick(verb: string | undefined): verb is keyof typeof QUICK_TASKS {
  return verb !== undefined && Object.hasOwn(QUICK_TASKS, verb)
}

// One program under several names: the name by which it was called decides.
const args = process.argv.slice(2)
const name = process.argv0.slice(process.argv0.lastIndexOf('/') + 1)
if (args[0] === '--version') {
  console.log(VERSION)
} else if (name === 'forge-tasks') {
  const [verb] = args
  const load = isQuick(verb) ? QUICK_TASKS[verb] : () => import('./cli/tasks/main.ts')
  const { tasksMain } = await load()
  process.exit(await tasksMain(args))
} else if (/^(?:forge-)?task-(?:manager|coordinator|worker)$/.test(name)) {
  const { bundledMain } = await import('./cli/bundled/main.ts')
  process.exit(await bundledMain(name, args))
} else {
  const { main } = await import('./cli/main.ts')
  process.exit(await main(args))
}
