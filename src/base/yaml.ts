const FEW_LINES = 200

/** How many lines are well before the bad one: the parser does not tell where it stopped. */
export function goodLines(yaml: string): number {
  const lines = yaml.split('\n')
  const isGood = (count: number) => isYaml(lines.slice(0, count).join('\n'))
  let good = 0
  let bad = lines.length
  // One half after the other would take a list over several lines for the mistake.
  while (bad - good > FEW_LINES) {
    const middle = (good + bad) >> 1
    if (isGood(middle)) good = middle
    else bad = middle
  }
  for (let count = bad - 1; count > good; count -= 1) if (isGood(count)) return count
  return good
}

function isYaml(text: string): boolean {
  try {
    Bun.YAML.parse(text)
    return true
  } catch {
    return false
  }
}
