import { VERSION } from './setup/version.ts'

// By default these would kill: a tool that asks for a sign of life must not end a night's work.
for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined)

// One program under several names: the name by which it was called decides.
const args = process.argv.slice(2)
const name = process.argv0.slice(process.argv0.lastIndexOf('/') + 1)
if (args[0] === '--version' || args[0] === '-V') {
  console.log(VERSION)
} else if (name === 'forge-tasks') {
  const { tasksMain } = await import('./cli/tasks/main.ts')
  process.exit(await tasksMain(args))
} else if (/^(?:forge-)?task-(?:manager|coordinator|worker)$/.test(name)) {
  const { bundledMain } = await import('./cli/bundled/main.ts')
  process.exit(await bundledMain(name, args))
} else {
  const { main } = await import('./cli/main.ts')
  process.exit(await main(args))
}
