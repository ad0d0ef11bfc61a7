package org.example.postgresql;

import dev.polis.api.network.Network;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.health.HealthRegistry;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Context;
import java.sql.SQLException;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the role. */
@Component(
    configurationPid = PostgresSettings.PID,
    property = RolePlugin.ROLE + "=" + PostgresRole.NAME)
@Designate(ocd = PostgresConfig.class)
public final class PostgresComponent implements RolePlugin {

  private final PostgresRole role;

  /** Called by Declarative Services. */
  @Activate
  public PostgresComponent(
      PostgresConfig config,
      @Reference Storage storage,
      @Reference Network network,
      @Reference ProcessManager processes,
      @Reference HealthRegistry health) {
    this.role =
        new PostgresRole(PostgresSettings.of(config), storage, network.status(), processes, health);
  }

  @Override
  public void run(Context context) throws Exception {
    role.run(context);
  }

  /** The JDK keeps each driver, and with it this bundle's classes, until it is told. */
  @Deactivate
  void deactivate() throws SQLException {
    SqlCheck.forgetDriver();
  }
}
