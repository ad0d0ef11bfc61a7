package dev.polis.consensus;

import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdPermission;
import java.util.List;

/**
 * Makes users and roles and turns authentication on. Every step asks first whether it is done, so
 * that an interrupted setup goes on and a finished one writes nothing but the last, harmless call.
 */
final class EtcdAuthSetup {

  private final EtcdAdmin admin;

  EtcdAuthSetup(EtcdAdmin admin) {
    this.admin = admin;
  }

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
