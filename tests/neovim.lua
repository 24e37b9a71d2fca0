-- Opens $GBLOCK_FILE in a Neovim that is configured as docs/editor.md says, and writes what it shows:
-- the diagnostics, those after an edit, the code actions, and what is left once the last is applied.

local function write(line)
  io.stdout:write(line .. "\n")
end

local function wait(condition)
  if not vim.wait(60000, condition, 50) then
    write("nothing came")
    vim.cmd("cquit")
  end
end

local function show()
  for _, one in ipairs(vim.diagnostic.get(0)) do
    local sent = one.user_data.lsp
    local code = one.code or sent.code
    write(string.format("%d:%d %s: %s", one.lnum + 1, one.col + 1, code, one.message:match("[^\n]*")))
  end
end

vim.cmd("edit " .. vim.env.GBLOCK_FILE)
wait(function()
  return #vim.diagnostic.get(0) > 0
end)
show()

local before = vim.diagnostic.get(0)[1]
vim.api.nvim_buf_set_lines(0, 0, 0, false, { "# typed" })
wait(function()
  local found = vim.diagnostic.get(0)
  return #found == 1 and found[1].lnum == before.lnum + 1
end)
show()

local params = vim.lsp.util.make_range_params()
local place = { line = before.lnum + 1, character = before.col }
params.range = { start = place, ["end"] = place }
params.context = { diagnostics = {} }
local client, answer = next(vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000))
for _, action in ipairs(answer.result) do
  write("action: " .. action.title)
end
vim.lsp.util.apply_workspace_edit(answer.result[#answer.result].edit, "utf-16")
write(vim.api.nvim_buf_get_lines(0, before.lnum + 1, before.lnum + 2, false)[1])
wait(function()
  return #vim.diagnostic.get(0) == 0
end)
write("nothing is left")
vim.lsp.stop_client(client)
vim.cmd("qall!")
