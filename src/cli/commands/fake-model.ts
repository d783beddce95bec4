import type { Command } from '../command.ts'

export const fakeModelCommand: Command = {
  summary: 'Play a scripted model to the real claude, and test a chain without spending tokens.',
  usage: [
    'forkhestra fake-model <script> -- <command> [args…]',
    'forkhestra fake-model <script> [--port <n>]',
    'forkhestra fake-model <script> --check',
  ],
  examples: [
    ['forkhestra fake-model night.jsonc -- forkhestra --chain build', 'run a chain against it'],
    ['forkhestra fake-model night.jsonc --check', 'only read the script'],
    ['forkhestra fake-model night.jsonc >env &', 'serve until SIGTERM; then: . ./env'],
  ],
  options: {
    port: { value: '<n>', help: 'listen on this port of 127.0.0.1; else on a free one' },
    log: { value: '<file>', help: 'write every request into it, one JSON object a line' },
    continue: { help: 'begin where the script has ended here; so does forkhestra resume' },
    check: { help: 'check the script, serve nothing' },
  },
  async run(input) {
    const { runFakeModel } = await import('../run-fake-model.ts')
    return runFakeModel(input)
  },
}
