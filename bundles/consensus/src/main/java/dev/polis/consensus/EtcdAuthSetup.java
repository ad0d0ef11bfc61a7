package dev.polis.consensus;

import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdPermission;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes the users and roles of etcd and turns authentication on. Each step first checks whether it
 * is done, so a second call completes an interrupted setup.
 */
final class EtcdAuthSetup {

  private final EtcdAdmin admin;

  EtcdAuthSetup(EtcdAdmin admin) {
    this.admin = admin;
  }

  /**
   * Makes the missing users and roles, and turns authentication on if it is off.
   *
   * @return the missing ones, with authentication as one of them
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
    if (!admin.authEnabled()) {
      admin.enableAuth();
      made.add("authentication, without which each user has all rights");
    }
    return made;
  }
}
