package dev.polis.consensus;

import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdPermission;
import java.util.List;

/**
 * Makes the users and roles of etcd and turns authentication on. Each step checks first whether it
 * is done, so an interrupted setup is continued. A finished setup only repeats the last call, which
 * changes nothing then.
 */
final class EtcdAuthSetup {

  private final EtcdAdmin admin;

  EtcdAuthSetup(EtcdAdmin admin) {
    this.admin = admin;
  }

  /** Makes what is missing. */
  void ensure() throws InterruptedException {
    List<String> roles = admin.roles();
    List<String> users = admin.users();
    for (ConsensusUser user : ConsensusUser.values()) {
      String name = user.userName();
      if (!roles.contains(name)) {
        admin.addRole(name);
      }
      List<EtcdPermission> permissions = user.permissions();
      if (admin.permissionsOf(name) < permissions.size()) {
        for (EtcdPermission permission : permissions) {
          admin.grant(name, permission);
        }
      }
      if (!users.contains(name)) {
        admin.addUser(name);
      }
      if (!admin.rolesOf(name).contains(name)) {
        admin.grantRole(name, name);
      }
    }
    admin.enableAuth();
  }
}
