import { VERSION } from './setup/version.ts'

// One program under several names: the name by which it was called decides.
const args = process.argv.slice(2)
const isTasks = process.argv0.endsWith('forge-tasks')
if (args[0] === '--version') {
  console.log(VERSION)
} else if (isTasks) {
  const { tasksMain } = await import('./cli/tasks/main.ts')
  process.exit(await tasksMain(args))
} else {
  const { main } = await import('./cli/main.ts')
  process.exit(await main(args))
}
