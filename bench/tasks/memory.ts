import { argv } from 'node:process'

// Prints the peak memory of the command that it is given, in bytes. A process of its own: the system
// hands the peak of a parent down to its children, and that of the benchmark would hide theirs.
const child = Bun.spawn(argv.slice(2), { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' })
process.exitCode = await child.exited
console.log(child.resourceUsage()?.maxRSS)
