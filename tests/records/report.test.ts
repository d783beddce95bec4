import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { git, makeCommitted } from '../support/repository.ts'
import { sh } from '../support/project.ts'

const HOSTILE = `</title></style><script>alert(1)</script><img src=x onerror="alert(2)">&amp;'"`

/** A chain whose names, output, commits and gates all try to become markup. */
function makeHostile(): string {
  const agent = {
    agent: './work',
    name: HOSTILE,
    iterations: 2,
    verify: `test -e fixed # ${HOSTILE}`,
  }
  return makeCommitted({
    '.gitignore': '.state\n.config\n',
    work: sh(
      `printf '%s\\n' ${JSON.stringify(HOSTILE)}`,
      'echo $FORKHESTRA_ITERATION >"a<b>.txt"',
      `git add -A && git commit -qm '${HOSTILE.replaceAll("'", '`')} '$FORKHESTRA_ITERATION`,
      '[ $FORKHESTRA_ITERATION = 1 ] || touch fixed',
      'echo ORCHESTRA_COMPLETE',
    ),
    'forge/orch/chains.json': JSON.stringify({ chains: { [`c${HOSTILE}`]: { steps: [agent] } } }),
  })
}

/** The names of all elements of a page, and of their attributes. */
async function markupOf(page: string): Promise<{ elements: Set<string>; attributes: Set<string> }> {
  const [elements, attributes] = [new Set<string>(), new Set<string>()]
  const rewriter = new HTMLRewriter().on('*', {
    element(element) {
      elements.add(element.tagName)
      for (const [name] of element.attributes) attributes.add(name)
    },
  })
  await rewriter.transform(new Response(page)).text()
  return { elements, attributes }
}

test('the report of a run is one page, in which nothing that agents, files or git say is markup', async () => {
  const cwd = makeHostile()
  const ran = await forkhestra(['--chain', `c${HOSTILE}`], { cwd })
  expect(ran.code).toBe(0)
  const { stdout, code } = await forkhestra(['show', '--html', 'night.html'], { cwd })
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^Report of run \S+: night\.html\n$/)])
  const page = readFileSync(join(cwd, 'night.html'), 'utf8')
  for (const title of ['What is left to do', 'Timeline', 'Tasks and commits', 'Gates'])
    expect(page).toContain(`<h2>${title}</h2>`)
  const escaped =
    '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(2)&quot;&gt;'
  expect(page).toContain(`<title>c&lt;/title&gt;&lt;/style&gt;${escaped}`)
  expect(page).toMatch(/marker refused: test -e fixed # &lt;\/title/)
  expect(page).toContain(`<code>${git(cwd, 'log', '-1', '--format=%H').slice(0, 7)}</code>`)
  const { elements, attributes } = await markupOf(page)
  for (const name of ['script', 'img', 'link', 'iframe', 'base', 'form'])
    expect(elements).not.toContain(name)
  expect([...attributes].filter((name) => /^(?:on|src|href|style)/.test(name))).toEqual([])
  expect(page).not.toMatch(/url\(|@import/)
})

test('a run that is only a queue has a report, a part of a run has none', async () => {
  const cwd = makeCommitted({ 'forge/keep': '', x: sh('true') })
  await forkhestra(['push', '--name', 'later', '--agent', './x', 'Do it'], { cwd })
  const queue = await forkhestra(['show', '--html', 'q.html'], { cwd })
  expect(queue.code).toBe(0)
  expect(readFileSync(join(cwd, 'q.html'), 'utf8')).toContain('<h2>Sub-agents</h2>')
  const part = await forkhestra(['show', '--step', '1', '--html', 'p.html'], { cwd })
  expect([part.code, part.stderr]).toEqual([2, expect.stringContaining('the whole run')])
  const lost = await forkhestra(['show', '--html', 'none/p.html'], { cwd })
  expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('Cannot write the report')])
})

test('secrets in the subjects of commits are masked', async () => {
  const secret = 'Zq7tR9xW2LmNpK4vB8'
  const env = { DEPLOY_TOKEN: secret }
  const cwd = makeCommitted({
    '.gitignore': '.state\n.config\n',
    work: sh('echo x >a.txt; git add -A; git commit -qm "Use $DEPLOY_TOKEN"'),
  })
  await forkhestra(['./work'], { cwd, env })
  expect(git(cwd, 'log', '-1', '--format=%s')).toBe(`Use ${secret}`)
  const iteration = ['show', '--step', '1', '--iteration', '1']
  const { stdout } = await forkhestra(iteration, { cwd, env })
  expect(stdout).toMatch(/ [\da-f]{7} Use \[masked DEPLOY_TOKEN\]$/m)
  await forkhestra(['show', '--html', 'r.html'], { cwd, env })
  const page = readFileSync(join(cwd, 'r.html'), 'utf8')
  expect(page).toContain('Use [masked DEPLOY_TOKEN]')
  expect(page).not.toContain(secret)
})
