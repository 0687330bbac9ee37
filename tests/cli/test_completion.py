#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shapecache completion: bash completes by it what the help texts list; zsh and fish are told the same."""

import re
import subprocess

from tool import Case, call, clean_environment, main


def script(shell):
    answer = call("completion", shell)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def commands():
    return re.findall(r"^  ([a-z]+) ", call("--help").stdout, re.M)


def options(command):
    """Those that the help of a command describes."""
    return sorted({match for match in re.findall(r"^  (?:-\w, )?(--[a-z-]+)", call("help", command).stdout, re.M)})


class Completion(Case):
    def completed(self, *words):
        program = script("bash") + 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shapecache; printf "%s\\n" "${COMPREPLY[@]}"'
        answer = subprocess.run(["bash", "--norc", "-c", program, "bash", "shapecache", *words], capture_output=True, text=True,
                                env=clean_environment(), timeout=60, check=False)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        return sorted(answer.stdout.split())

    def test_bash_completes_commands(self):
        self.assertEqual(self.completed(""), sorted(["--help", "--version", *commands()]))
        self.assertEqual(self.completed("rep"), ["report"])
        self.assertEqual(self.completed("help", "ex"), ["export"])
        self.assertEqual(self.completed("zzz"), [])

    def test_bash_completes_the_options_of_each_command(self):
        self.assertGreater(len(commands()), 8)
        for command in set(commands()) - {"help"}:
            self.assertEqual(self.completed(command, "-"), sorted({*options(command), "--help"}), command)
        self.assertEqual(self.completed("steps", "--ev"), ["--every"])
        self.assertIn("--dry-run", self.completed("run", "--"))

    def test_bash_leaves_other_words_to_the_names_of_files(self):
        self.assertEqual(self.completed("report", ""), [])
        self.assertIn("complete -F _shapecache shapecache\n", script("bash"))

    def test_zsh_and_fish_are_told_of_every_command_and_option(self):
        zsh, fish = script("zsh"), script("fish")
        self.assertTrue(zsh.startswith("#compdef shapecache\n"))
        for command in set(commands()) - {"help"}:
            line = next(line for line in zsh.splitlines() if line.strip().startswith(f"{command}) compadd -- "))
            self.assertEqual(sorted(re.findall(r"--[a-z-]+", line)), sorted({*options(command), "--help"}), command)
            told = re.findall(rf"-n '__fish_seen_subcommand_from {command}' -l ([a-z-]+)$", fish, re.M)
            self.assertEqual(sorted("--" + name for name in told), options(command))
            summary = re.search(rf"^  {command} +(.*)$", call("--help").stdout, re.M)[1]
            self.assertIn(f"-f -a {command} -d '{summary}'\n", fish)

    def test_what_cannot_be_understood_is_refused(self):
        for arguments in [], ["tcsh"], ["bash", "zsh"]:
            self.fails(call("completion", *arguments), 2, "for bash, zsh or fish?")


main()
