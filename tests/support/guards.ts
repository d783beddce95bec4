import { afterEach, expect } from 'bun:test'
import { survivors } from './forkhestra.ts'
import { removeProjects } from './project.ts'

// Loaded before every test file (bunfig.toml): after each test no folder and no process is left.

afterEach(() => {
  removeProjects()
  expect(survivors()).toEqual([])
})
