/* SPDX-License-Identifier: MIT */
#pragma once

/* A registry in a temporary directory, for the tests of lib/registry */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sbx/error.h>

#include "base/fd.h"
#include "registry/registry.h"
#include "test.h"

struct rig {
	char path[64];
	int directory;
	int registry;
	struct arena arena;
	struct sbx_error err;
};

static inline void rig_init(struct rig *rig)
{
	*rig = (struct rig){ .path = "/tmp/test-registry-XXXXXX", .arena = ARENA_INIT };
	if (!mkdtemp(rig->path))
		abort();
	rig->directory = open(rig->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig->registry = registry_open_in(rig->path, &rig->err);
	if (rig->registry < 0)
		abort();
}

static inline void rig_deinit(struct rig *rig)
{
	_cleanup_close_ int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	close_fd(&rig->registry);
	close_fd(&rig->directory);
	(void)directory_discard(tmp, rig->path + strlen("/tmp/"));
	arena_deinit(&rig->arena);
}

#define RIG                                                                                        \
	_cleanup_(rig_deinit) struct rig rig;                                                      \
	rig_init(&rig)

static inline struct sandbox_entry rig_entry(const char *id)
{
	return (struct sandbox_entry){ .id = id, .state = SANDBOX_RUNNING };
}

static inline void rig_put(int directory, const char *name, const char *text)
{
	_cleanup_close_ int fd =
		openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		abort();
}

static inline void rig_end(pid_t child)
{
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Creates an entry as sbx-ctl create does: state CREATING, with a configuration, not locked. */
static inline void rig_make(struct rig *rig, const char *id)
{
	_cleanup_registration_ struct registration made = REGISTRATION_INIT;
	struct sandbox_entry entry = { .id = id, .state = SANDBOX_CREATING };

	expect_eq(registration_create(rig->registry, id, &made, &rig->err), 0);
	expect_eq(registration_write(&made, &entry, &rig->err), 0);
	rig_put(made.directory, SANDBOX_CONFIGURATION_NAME, "/");
}
