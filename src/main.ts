import { VERSION } from './setup/version.ts'

const args = process.argv.slice(2)
if (args[0] === '--version') {
  console.log(VERSION)
} else {
  const { main } = await import('./cli/main.ts')
  process.exit(await main(args))
}
