import { expect, test } from 'bun:test'
import { RunProcesses, findOrphans } from './run-processes.ts'

function sleeper(path: string) {
  return Bun.spawn(['sleep', '999'], { env: { ...process.env, FORKHESTRA_RUN_PATH: path } })
}

test.if(process.platform === 'linux')('one scan finds the processes of several runs', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => `r-${process.pid}-${name}`) as [
    string,
    string,
    string,
  ]
  const processes = [sleeper(a), sleeper(`${a}:${b}`), sleeper(`${a}x`)]
  try {
    const [one, both] = processes.map(({ pid }) => ({ pid, command: 'sleep 999' }))
    expect(findOrphans([a, b, c])).toEqual(
      new Map([
        [a, [one!, both!]],
        [b, [both!]],
      ]),
    )
    expect(findOrphans([])).toEqual(new Map())
    for (const run of [a, b, c]) {
      expect(new RunProcesses(run, false).list()).toEqual(findOrphans([run]).get(run) ?? [])
    }
  } finally {
    for (const each of processes) each.kill('SIGKILL')
    await Promise.all(processes.map(({ exited }) => exited))
  }
})
