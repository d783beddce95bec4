import { argv } from 'node:process'

// Prints the peak memory of the given command in bytes. It is a separate process because a child
// inherits the peak of its parent, and that of the benchmark would hide that of the command.
const child = Bun.spawn(argv.slice(2), { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' })
process.exitCode = await child.exited
console.log(child.resourceUsage()?.maxRSS)
