package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class KernelLogTest {

  private static final String LOG =
      """
      [  7.1] python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-900
      [  7.2] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/node,task_memcg=/node/a,task=kubelet,pid=411,uid=0
      [  7.2] Memory cgroup out of memory: Killed process 411 (kubelet) total-vm:9kB, anon-rss:5kB
      [  8.1] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/node,task=etcd,pid=41,uid=0
      [  8.2] Out of memory: Killed process 41 (etcd) total-vm:9kB, anon-rss:5kB
      """;

  @Test
  @DisplayName("the kernel's log tells a process that memory ran out for from one that was killed")
  void killer() {
    assertEquals(
        "the kernel ended it: the cgroup /node is out of memory; raise its memory limit, or end what takes the memory there",
        KernelLog.killer(LOG, 411));
    assertEquals("the kernel ended it: this machine is out of memory", KernelLog.killer(LOG, 41));
    assertEquals(
        "a person or another program sent it, since the kernel was not out of memory",
        KernelLog.killer(LOG, 4));
  }
}
