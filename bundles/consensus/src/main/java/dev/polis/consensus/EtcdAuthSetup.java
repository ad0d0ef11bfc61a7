package dev.polis.consensus;

import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdPermission;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes the users and roles of etcd and turns authentication on. Each step first checks whether it
 * is done, so a second call completes an interrupted setup. After a complete setup it repeats only
 * the last call, which then has no effect.
 */
final class EtcdAuthSetup {

  private final EtcdAdmin admin;

  EtcdAuthSetup(EtcdAdmin admin) {
    this.admin = admin;
  }

  /**
   * Makes the missing users and roles.
   *
   * @return the missing ones
   */
  List<String> ensure() throws InterruptedException {
    List<String> roles = admin.roles();
    List<String> users = admin.users();
    List<String> made = new ArrayList<>();
    for (ConsensusUser user : ConsensusUser.values()) {
      String name = user.userName();
      if (!roles.contains(name)) {
        admin.addRole(name);
        made.add("the role " + name);
      }
      for (EtcdPermission missing : admin.missing(name, user.permissions())) {
        admin.grant(name, missing);
        made.add("a right of the role " + name);
      }
      if (!users.contains(name)) {
        admin.addUser(name);
        made.add("the user " + name);
      }
      if (!admin.rolesOf(name).contains(name)) {
        admin.grantRole(name, name);
        made.add("the role of the user " + name);
      }
    }
    admin.enableAuth();
    return made;
  }
}
